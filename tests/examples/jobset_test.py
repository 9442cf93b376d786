# SPDX-License-Identifier: Apache-2.0
"""The example for Kubernetes has the fields of a JobSet (jobset.x-k8s.io/v1alpha2) and of a Job, and Cohort's variables."""
import os
import pathlib
import re
import signal
import unittest

import jsonschema
import kubernetes_validate
import yaml

SOURCE = pathlib.Path(os.environ["COHORT_SOURCE_DIR"])


def fields(required=(), **properties):
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def array(of):
    return {"type": "array", "items": of}


TEXT, COUNT, ANY = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "object"}
# The fields of JobSet's custom resource definition, version v1alpha2, as of v0.8.
JOBSET = fields(
    ("apiVersion", "kind", "metadata", "spec"), apiVersion={"const": "jobset.x-k8s.io/v1alpha2"}, kind={"const": "JobSet"}, metadata=ANY,
    spec=fields(
        (),
        coordinator=fields(("replicatedJob",), replicatedJob=TEXT, jobIndex=COUNT, podIndex=COUNT),
        failurePolicy=fields(
            (), maxRestarts=COUNT, restartStrategy={"enum": ["Recreate", "BlockingRecreate"]},
            rules=array(fields(
                ("action", "name"), action={"enum": ["FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts"]},
                name={"type": "string", "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"}, onJobFailureReasons=array(TEXT),
                targetReplicatedJobs=array(TEXT)))),
        managedBy=TEXT, suspend={"type": "boolean"}, ttlSecondsAfterFinished=COUNT, startupPolicy=ANY,
        successPolicy=fields(("operator",), operator={"enum": ["All", "Any"]}, targetReplicatedJobs=array(TEXT)),
        network=fields((), enableDNSHostnames={"type": "boolean"}, publishNotReadyAddresses={"type": "boolean"}, subdomain=TEXT),
        replicatedJobs=array(fields(("name", "template"), name=TEXT, replicas=COUNT, groupName=TEXT, dependsOn=array(ANY), template=ANY))))


class jobset(unittest.TestCase):
    def setUp(self):
        self.set = yaml.safe_load((SOURCE / "examples/launchers/jobset.yaml").read_text())
        self.job = self.set["spec"]["replicatedJobs"][0]

    def test_has_the_fields_of_a_jobset(self):
        jsonschema.validate(self.set, JOBSET)
        self.set["spec"]["failurePolicy"]["maxRestart"] = 1
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate(self.set, JOBSET)

    def test_has_the_fields_of_a_job(self):
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "ranks"}, "spec": self.job["template"]["spec"]}
        kubernetes_validate.validate(job, "1.29", strict=True)
        job["spec"]["completion"] = 1
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(job, "1.29", strict=True)

    def test_starts_ranks_again_that_were_lost_or_ended_by_a_signal(self):
        rules = self.job["template"]["spec"]["podFailurePolicy"]["rules"]
        final, = (rule["onExitCodes"] for rule in rules if rule["action"] == "FailJob")
        signals = (signal.SIGABRT, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM)
        self.assertEqual((final["operator"], final["values"]), ("NotIn", [75, *(128 + one for one in signals)]))

    def test_sets_the_environment_variables_of_cohort(self):
        spec = self.job["template"]["spec"]
        given = {one["name"]: one["value"] for one in spec["template"]["spec"]["containers"][0]["env"]}
        self.assertEqual(given["COHORT_RANKS"], str(spec["completions"]))
        self.assertEqual(spec["completions"], spec["parallelism"])
        self.assertEqual((given["COHORT_MIN_RANKS"], spec["backoffLimit"]), ("0", 0))  # all ranks start again
        # The name of the first pod: <set>-<job>-<index>-<pod>.<set>
        self.assertEqual(given["COHORT_JOIN"].split(":")[0], f"{self.set['metadata']['name']}-{self.job['name']}-0-0.{self.set['metadata']['name']}")
        read = (SOURCE / "backends/tcp/include/cohort/tcp/impl/tcp.ipp").read_text()
        for name in [*given, "JOB_COMPLETION_INDEX"]:
            self.assertTrue(re.search(rf'"{name}"', read), name)


if __name__ == "__main__":
    unittest.main()
