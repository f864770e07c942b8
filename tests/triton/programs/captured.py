"""Graphs of torch.cuda: what is captured is done again at each replay, and not before. A program for `ptxsim exec`."""

import copy

import torch
import triton
import triton.language as tl


@triton.jit
def twice(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def twice_and_one(x):
    out = torch.empty_like(x)
    twice[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), BLOCK=128)
    return out + 1


def launches_and_operators():
    x, count = torch.ones(300, device="cuda"), torch.zeros(1, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing() and torch.cuda.current_stream().is_capturing()
        out = twice_and_one(x)
        count += 1
        first, both = out[:10], torch.cat([out, x])
        drawn = torch.rand(4, device="cuda")
    assert count.item() == 0 and not torch.cuda.is_current_stream_capturing()
    before = None
    for value in (5.0, 7.0):
        x.fill_(value)
        graph.replay()
        assert (out == 2 * value + 1).all() and (first == out[:10]).all() and (both == torch.cat([out, x])).all()
        assert before is None or (before != drawn).any()
        before = drawn.clone()
    assert count.item() == 2
    second = torch.cuda.CUDAGraph()
    second.capture_begin(pool=graph.pool())
    more = out * 3
    second.capture_end()
    second.replay()
    assert (more == out * 3).all()
    graph.reset()
    try:
        graph.replay()
    except RuntimeError:
        pass
    else:
        raise AssertionError("a graph that is no more was replayed")


def in_place():
    x = torch.ones(128, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=torch.cuda.graph_pool_handle(), stream=torch.cuda.Stream()):
        twice[(1,)](x, x, 128, BLOCK=128)
    assert (x == 1).all()
    graph.replay()
    graph.replay()
    assert (x == 4).all()


def a_step_of_training():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)).cuda()
    other, loss = copy.deepcopy(model), torch.nn.MSELoss()
    x, y = torch.randn(4, 8, device="cuda"), torch.randn(4, 1, device="cuda")
    steps = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, other)]
    graph = torch.cuda.CUDAGraph()
    steps[0].zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        found = loss(model(x), y)
        found.backward()
        steps[0].step()
    for _ in range(3):
        x.copy_(torch.randn(4, 8))
        graph.replay()
        steps[1].zero_grad()
        wanted = loss(other(x), y)
        wanted.backward()
        steps[1].step()
        torch.testing.assert_close(found, wanted)
    for one, two in zip(model.parameters(), other.parameters()):
        torch.testing.assert_close(one, two)


def modules():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh()).cuda()
    other = copy.deepcopy(module)
    graphed = torch.cuda.make_graphed_callables(module, (torch.randn(4, 8, device="cuda", requires_grad=True),))
    x = torch.randn(4, 8, device="cuda")
    graphed(x).sum().backward()
    other(x).sum().backward()
    for one, two in zip(module.parameters(), other.parameters()):
        torch.testing.assert_close(one.grad, two.grad)


launches_and_operators()
in_place()
a_step_of_training()
modules()
print("right")
