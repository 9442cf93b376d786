// SPDX-License-Identifier: Apache-2.0
#include <cohort/cudnn/detail/dnn_on_gpu.hpp>

namespace cohort::detail {

dnn_on_gpu::dnn_on_gpu(std::shared_ptr<compute_stream const> on) : on_(std::move(on)) {
  on_->device().use();
  check(functions().create(&handle_), "starting cuDNN");
  if (cudnnStatus_t const status = functions().set_stream(handle_, on_->handle());
      status != CUDNN_STATUS_SUCCESS) {
    functions().destroy(handle_);
    check(status, "setting cuDNN's stream");
  }
}

dnn_on_gpu::~dnn_on_gpu() {
  on_->device().make_current();
  functions().destroy(handle_);
}

void dnn_on_gpu::check(cudnnStatus_t status, char const* doing) const {
  if (status != CUDNN_STATUS_SUCCESS)
    throw backend_error({.what = {doing, " failed"}, .where = functions().error_text(status)});
}

std::unique_lock<std::mutex> dnn_on_gpu::lock_handle() const {
  std::unique_lock<std::mutex> held(mutex_);
  on_->device().use();
  return held;
}

void dnn_on_gpu::execute(cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t operands) const {
  auto const queue_lock = on_->lock_queue();
  auto const held = lock_handle();
  check(functions().execute(handle_, plan, operands), "running a cuDNN plan");
}

dnn_description::dnn_description(dnn_on_gpu const& dnn, cudnnBackendDescriptorType_t type) : dnn_(&dnn) {
  dnn.check(dnn.functions().create_descriptor(type, &made_), "creating a cuDNN descriptor");
}

dnn_description& dnn_description::operator=(dnn_description&& other) noexcept {
  std::swap(dnn_, other.dnn_);
  std::swap(made_, other.made_);
  return *this;
}

dnn_description::~dnn_description() {
  if (made_) dnn_->functions().destroy_descriptor(made_);
}

void dnn_description::set(cudnnBackendAttributeName_t name, dnn_description const& other) {
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.made_);
}

std::size_t dnn_description::get(cudnnBackendAttributeName_t name,
                                 std::span<cudnnBackendDescriptor_t> others) const {
  return get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, others.size(), others.data());
}

void dnn_description::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                          std::size_t count, void const* values) {
  dnn_->check(dnn_->functions().set_attribute(made_, name, type, static_cast<std::int64_t>(count), values),
              "building a cuDNN descriptor");
}

std::size_t dnn_description::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                 std::size_t count, void* values) const {
  std::int64_t found = 0;
  dnn_->check(dnn_->functions().get_attribute(made_, name, type, static_cast<std::int64_t>(count), &found,
                                              count > 0 ? values : nullptr),
              "reading a cuDNN descriptor's attribute");
  return static_cast<std::size_t>(found);
}

}  // namespace cohort::detail
