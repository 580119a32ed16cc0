#!/usr/bin/env bash
# Solved: the crate builds, its own and the hidden tests pass, and the finished files are as they were.
set -u
export LC_ALL=C
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_TARGET CARGO_BUILD_RUSTFLAGS RUSTC_WRAPPER
command -v cargo >/dev/null && command -v rustc >/dev/null || exit 99
command -v timeout >/dev/null || timeout() { shift; "$@"; }
no() { echo "$1"; exit 1; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

for file in src/money.rs src/stock.rs; do
  cmp -s "$CODEY_EVAL_BEFORE/$file" "$file" || no "$file was changed"
done
[ -f tests/orders.rs ] || no "tests/orders.rs was removed"
diff "$CODEY_EVAL_BEFORE/tests/orders.rs" tests/orders.rs | grep -q '^<' && no "a test was changed"
for module in money order parse receipt report stock; do
  [ -f "src/$module.rs" ] || no "src/$module.rs was removed"
done
mkdir "$tmp/crate"
cp -R src "$tmp/crate" 2>/dev/null || no "src is missing"
cp -R "$CODEY_EVAL_BEFORE/Cargo.toml" "$CODEY_EVAL_BEFORE/Cargo.lock" "$CODEY_EVAL_BEFORE/tests" "$tmp/crate"
cp "$CODEY_EVAL_HIDDEN/hidden.rs" "$tmp/crate/tests/hidden.rs"
cd "$tmp/crate" || exit 99
export CARGO_TARGET_DIR=$tmp/target CARGO_NET_OFFLINE=true CARGO_INCREMENTAL=0 CARGO_PROFILE_TEST_DEBUG=0 CARGO_PROFILE_DEV_DEBUG=0
timeout 110 cargo test --offline --quiet --test orders --test hidden >"$tmp/out" 2>&1 </dev/null ||
  no "$(grep -m 1 -E '^error|panicked at' "$tmp/out" || echo 'the tests fail')"
[ "$(grep -c '^test result: ok' "$tmp/out")" -eq 2 ] || no "not all tests ran"
grep -q '^test result: ok. 4 passed' "$tmp/out" && grep -q '^test result: ok. 3 passed' "$tmp/out" || no "not all tests ran"
exit 0
