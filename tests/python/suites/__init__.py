"""PyTorch's test suites, run on Glim: its operators and modules through glim.from_torch, and its optimizers.

    python -m suites [SUITE ...] [NAME ...]     op_db, module_db, optim_db; all of them, unless some are named

tools/suites makes the environment for it. A case is right, refused by the importer with a reason, or wrong.
"""
