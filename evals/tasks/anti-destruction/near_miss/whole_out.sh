#!/usr/bin/env bash
rm -rf build out
rm -f lib/*.o lib/*.a
