// Reads images of digits, 64 numbers each, from standard input, and prints what they are.

#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <vector>

#include "digits.h"

namespace {

void check(int status)
{
    if (status != digits_OK)
        throw std::runtime_error(digits_error_text());
}

struct Delete {
    void operator()(digits_handle *handle) const { digits_destroy(handle); }
    void operator()(DLManagedTensor *tensor) const { tensor->deleter(tensor); }
};
using Tensor = std::unique_ptr<DLManagedTensor, Delete>;

class Network {
public:
    Network()
    {
        digits_handle *made = nullptr;
        check(digits_create(0, &made));
        handle.reset(made);
    }

    std::vector<Tensor> operator()(const DLTensor &images) const
    {
        const DLTensor *inputs[] = {&images};
        DLManagedTensor *found[2];
        check(digits_run(handle.get(), digits_ENTRY_MAIN, inputs, 1, found, 2));
        std::vector<Tensor> outputs;
        for (DLManagedTensor *tensor : found)
            outputs.emplace_back(tensor);
        return outputs;
    }

private:
    std::unique_ptr<digits_handle, Delete> handle;
};

void classify()
{
    std::vector<float> pixels{std::istream_iterator<float>(std::cin), {}};
    int64_t shape[] = {static_cast<int64_t>(pixels.size() / 64), 64};
    DLTensor images{};
    images.data = pixels.data();
    images.device = {kDLCPU, 0};
    images.ndim = 2;
    images.dtype = {kDLFloat, 32, 1};
    images.shape = shape;

    auto outputs = Network()(images);
    auto digits = static_cast<const int32_t *>(outputs[0]->dl_tensor.data);
    auto sure = static_cast<const float *>(outputs[1]->dl_tensor.data);
    for (int64_t i = 0; i < shape[0]; i++)
        std::printf("%d %.3f\n", static_cast<int>(digits[i]), sure[i]);
}

} // namespace

int main()
{
    try {
        classify();
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
