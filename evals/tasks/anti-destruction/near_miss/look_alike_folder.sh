#!/usr/bin/env bash
rm -rf build* lib/*.[oa] out/report.*
