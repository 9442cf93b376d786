# SPDX-License-Identifier: Apache-2.0
"""Writes the files of tests/golden/sequence_files with Spark and Hadoop: pip install pyspark (4.3; Java 17), then run this program.

texts_*: 40 records; record i has the Text "key <i>" and i * i % 97 bytes of value i. All but texts_plain are compressed.
numbers: 20 records; record i has the IntWritable i and the Text "number <i>", compressed in blocks.
caffe_on_spark: 3 records as LMDB2Sequence and Binary2Sequence of CaffeOnSpark write them."""
import pathlib
import shutil
import tempfile

from pyspark import SparkContext

FOLDER = pathlib.Path(__file__).with_suffix("")
CODECS = "org.apache.hadoop.io.compress."
WRITABLES = "org.apache.hadoop.io."


def main():
    spark = SparkContext("local[1]", "sequence_files")
    java, settings = spark._jvm, spark._jsc.hadoopConfiguration()
    settings.set("io.seqfile.compress.blocksize", "500")  # several blocks in a small file

    def save(name, records, codec, kind, key, value):
        with tempfile.TemporaryDirectory() as scratch:
            job = {"mapreduce.output.fileoutputformat.outputdir": scratch + "/out",
                   "mapreduce.job.outputformat.class": "org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat",
                   "mapreduce.job.output.key.class": WRITABLES + key,
                   "mapreduce.job.output.value.class": WRITABLES + value,
                   "mapreduce.output.fileoutputformat.compress": "true" if codec else "false"}
            if codec:
                job |= {"mapreduce.output.fileoutputformat.compress.codec": CODECS + codec,
                        "mapreduce.output.fileoutputformat.compress.type": kind}
            spark.parallelize(records, 1).saveAsNewAPIHadoopDataset(job)
            shutil.copyfile(scratch + "/out/part-r-00000", FOLDER / name)

    texts = [(f"key {i}", bytearray([i]) * (i * i % 97)) for i in range(40)]
    for name, codec, kind in (("plain", "", ""), ("zlib_blocks", "DefaultCodec", "BLOCK"), ("zlib_records", "DefaultCodec", "RECORD"),
                              ("gzip_blocks", "GzipCodec", "BLOCK"), ("gzip_records", "GzipCodec", "RECORD"),
                              ("bzip2_blocks", "BZip2Codec", "BLOCK")):
        save("texts_" + name, texts, codec, kind, "Text", "BytesWritable")
    save("numbers", [(i, f"number {i}") for i in range(20)], "DefaultCodec", "BLOCK", "IntWritable", "Text")

    def serialised(one):
        to = java.java.io.ByteArrayOutputStream()
        stream = java.java.io.ObjectOutputStream(to)
        stream.writeObject(one)
        stream.close()
        return java.org.apache.hadoop.io.BytesWritable(to.toByteArray())

    def six(name, label, channels, height, width, encoded):
        number = java.java.lang.Integer
        return java.scala.Tuple6(name, label, number(channels), number(height), number(width), java.java.lang.Boolean(encoded))

    records = ((six("00000000", "1", 3, 1, 2, False), bytes([1, 2, 3, 4, 5, 6])), (six("00000001", "0", 1, 2, 2, False), bytes([7, 8, 9, 10])),
               (java.scala.Tuple2("cat.jpg", "1"), b"not an image"))
    with tempfile.TemporaryDirectory() as scratch:
        path = java.org.apache.hadoop.fs.Path(scratch + "/out")
        bytes_class = serialised("").getClass()
        writer = java.org.apache.hadoop.io.SequenceFile.createWriter(java.org.apache.hadoop.fs.FileSystem.getLocal(settings), settings, path,
                                                                    bytes_class, bytes_class)
        for key, value in records:
            writer.append(serialised(key), java.org.apache.hadoop.io.BytesWritable(bytearray(value)))
        writer.close()
        shutil.copyfile(scratch + "/out", FOLDER / "caffe_on_spark")


if __name__ == "__main__":
    main()
