"""Other people's test suites, run on Glim: what they compute, their gradients in both orders, and what they refuse.

    python -m suites [SUITE ...]     op_db, module_db, optim_db, onnx; all of them, unless some are named

tools/suites makes the environment for it. `torch_ops` and `onnx_ops` say which function of Glim a test is about; they
need neither torch nor ONNX. A function that Glim does not have is a skip with a reason.
"""
