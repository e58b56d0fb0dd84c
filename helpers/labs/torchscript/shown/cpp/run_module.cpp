// Runs a program that Python has written: run_module PROGRAM INPUTS OUTPUT
//   PROGRAM  TorchScript, or a package of AOTInductor, whose name ends with .pt2
//   INPUTS   a list of tensors, written by torch.save
//   OUTPUT   where the resulting tensor goes, for torch.load
#include <ATen/Parallel.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/script.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

using Tensors = std::vector<at::Tensor>;

at::Tensor run_script(const std::string& path, const Tensors& inputs) {
  torch::jit::Module module = torch::jit::load(path);
  return module.forward({inputs.begin(), inputs.end()}).toTensor();
}

at::Tensor run_package(const std::string& path, const Tensors& inputs) {
  torch::inductor::AOTIModelPackageLoader loader(path);
  return loader.run(inputs).at(0);
}

std::vector<char> bytes_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int main(int count, char** words) {
  if (count != 4) {
    std::cerr << "usage: run_module PROGRAM INPUTS OUTPUT\n";
    return 2;
  }
  try {
    at::set_num_threads(1);  // sums in the order of a Python that runs one thread
    torch::NoGradGuard no_grad;
    const c10::IValue list = torch::jit::pickle_load(bytes_of(words[2]));
    Tensors inputs;
    for (const c10::IValue& input : list.toListRef()) inputs.push_back(input.toTensor());
    const std::string path = words[1];
    const at::Tensor result = path.ends_with(".pt2") ? run_package(path, inputs) : run_script(path, inputs);
    const std::vector<char> output = torch::jit::pickle_save(result);
    std::ofstream(words[3], std::ios::binary).write(output.data(), static_cast<std::streamsize>(output.size()));
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
