#!/usr/bin/env bash
git clean -fdXq
