"""The convolutions of a TensorFlow Lite file as float PyTorch modules.

The file was quantised after training; its weights are dequantised here. Batch norm is already
folded into the convolutions. Padding is TensorFlow's SAME: at stride 2 there is one more row
below and one more column on the right.
"""

import numpy as np
import tflite
import torch
import torch.nn as nn
import torch.nn.functional as F

OPERATORS = {v: k for k, v in vars(tflite.BuiltinOperator).items() if isinstance(v, int)}
TYPES = {
    tflite.TensorType.INT8: np.int8,
    tflite.TensorType.INT32: np.int32,
    tflite.TensorType.UINT8: np.uint8,
    tflite.TensorType.FLOAT32: np.float32,
}


class Padded(torch.autograd.Function):
    """A convolution with other padding on one side than on the other, for export.

    PyTorch pads by an operation of its own. In ONNX Runtime that costs a fifth of a
    picture's time: it copies, and takes maps out of the layout that convolutions use.
    """

    @staticmethod
    def forward(ctx, x, weight, bias, padding, stride, groups):
        """As PyTorch has it."""
        return F.conv2d(F.pad(x, padding), weight, bias, stride, 0, 1, groups)

    @staticmethod
    def symbolic(g, x, weight, bias, padding, stride, groups):
        """As ONNX has it."""
        left, right, above, below = padding
        return g.op("Conv", x, weight, bias, pads_i=[above, left, below, right], strides_i=stride, group_i=groups)


class Convolution(nn.Module):
    """A convolution with SAME padding and, where the graph has it, ReLU6."""

    def __init__(self, weight, bias, stride, depthwise, relu6, size):
        super().__init__()
        weight = torch.tensor(weight)
        weight = weight.permute(3, 0, 1, 2) if depthwise else weight.permute(0, 3, 1, 2)
        outputs, kernel = weight.shape[0], weight.shape[2]
        inputs = outputs if depthwise else weight.shape[1]
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, groups=outputs if depthwise else 1)
        self.conv.weight.data, self.conv.bias.data = weight.contiguous(), torch.tensor(bias)
        self.relu6 = relu6
        total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
        self.padding = (total // 2, total - total // 2) * 2
        if total % 2 == 0:  # the convolution pads by itself, without a copy of its input
            self.conv.padding, self.padding = (total // 2,) * 2, (0,) * 4

    def forward(self, x):
        """Convolves x, N×C×H×W; the side must be the one the module was built for."""
        if any(self.padding) and torch.onnx.is_in_onnx_export():
            x = Padded.apply(x, self.conv.weight, self.conv.bias, self.padding, self.conv.stride, self.conv.groups)
        else:
            x = self.conv(F.pad(x, self.padding) if any(self.padding) else x)
        return F.hardtanh_(x, 0.0, 6.0) if self.relu6 else x


class TensorFlowLite:
    """Reads a TensorFlow Lite graph."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.model = tflite.Model.GetRootAsModel(file.read(), 0)
        self.graph = self.model.Subgraphs(0)

    def values(self, index):
        """The dequantised values of a constant tensor."""
        tensor = self.graph.Tensors(index)
        raw = self.model.Buffers(tensor.Buffer()).DataAsNumpy().tobytes()
        array = np.frombuffer(raw, TYPES[tensor.Type()]).reshape(tensor.ShapeAsNumpy())
        quantisation = tensor.Quantization()
        shape = [1] * array.ndim
        shape[quantisation.QuantizedDimension()] = -1
        return (array * quantisation.ScaleAsNumpy().reshape(shape)).astype(np.float32)

    def operators(self):
        """Yields (kind, operator) in order of execution."""
        for n in range(self.graph.OperatorsLength()):
            operator = self.graph.Operators(n)
            code = self.model.OperatorCodes(operator.OpcodeIndex())
            yield OPERATORS[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())], operator

    def convolution(self, kind, operator, size):
        """The PyTorch twin of a convolution on maps of the given side."""
        depthwise = kind == "DEPTHWISE_CONV_2D"
        options = (tflite.DepthwiseConv2DOptions if depthwise else tflite.Conv2DOptions)()
        table = operator.BuiltinOptions()
        options.Init(table.Bytes, table.Pos)
        arguments = operator.InputsAsNumpy()
        relu6 = options.FusedActivationFunction() == tflite.ActivationFunctionType.RELU6
        weight, bias = self.values(arguments[1]), self.values(arguments[2])
        return Convolution(weight, bias, options.StrideW(), depthwise, relu6, size)
