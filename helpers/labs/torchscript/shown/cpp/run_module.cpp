// Runs a TorchScript file: run_module MODULE INPUTS OUTPUT
//   MODULE  written by module.save(path)
//   INPUTS  a list of tensors, written by torch.save
//   OUTPUT  where the resulting tensor goes, for torch.load
#include <ATen/Parallel.h>
#include <torch/script.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

std::vector<char> bytes_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int main(int count, char** words) {
  if (count != 4) {
    std::cerr << "usage: run_module MODULE INPUTS OUTPUT\n";
    return 2;
  }
  try {
    at::set_num_threads(1);  // sums in the order of a Python that runs one thread
    torch::NoGradGuard no_grad;
    torch::jit::Module module = torch::jit::load(words[1]);
    const c10::IValue list = torch::jit::pickle_load(bytes_of(words[2]));
    std::vector<c10::IValue> inputs;
    for (const c10::IValue& input : list.toListRef()) inputs.push_back(input);
    const std::vector<char> output = torch::jit::pickle_save(module.forward(inputs).toTensor());
    std::ofstream(words[3], std::ios::binary).write(output.data(), static_cast<std::streamsize>(output.size()));
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
