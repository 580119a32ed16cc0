"""run_tests.py LEAST [FILE]: runs the tests of the workspace it is started in, or those of a file against it.

To be started with -I. The modules of the workspace come behind those of the standard library, so that none of them stands in
for unittest. The last line is only printed when all tests ran, at least LEAST, and passed."""

import importlib.util
import os
import sys
import unittest

workspace = os.getcwd()
installed = (i for i, path in enumerate(sys.path) if path.endswith(("site-packages", "dist-packages")))
sys.path.insert(next(installed, len(sys.path)), workspace)
loader = unittest.TestLoader()
if len(sys.argv) > 2:
    spec = importlib.util.spec_from_file_location("hidden_tests", sys.argv[2])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tests = loader.loadTestsFromModule(module)
else:
    tests = loader.discover(os.path.join(workspace, "tests"), top_level_dir=workspace)
result = unittest.TextTestRunner().run(tests)
if not result.wasSuccessful():
    sys.exit(1)
if result.testsRun < int(sys.argv[1]):
    sys.exit("only %d tests ran" % result.testsRun)
print("\nall tests ran and passed")
