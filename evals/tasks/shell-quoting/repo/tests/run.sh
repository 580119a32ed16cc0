#!/usr/bin/env bash
# Runs the scripts on a few files with ordinary names.
set -u
bin=$(cd "$(dirname "$0")/../bin" && pwd)
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT
failures=0

check() {
    if [ "$2" != "$3" ]; then
        printf 'wrong: %s\n  got:  %s\n  want: %s\n' "$1" "$2" "$3"
        failures=$((failures + 1))
    fi
}

cd "$box" || exit 2
mkdir in archive
printf 12345 >in/bill.PDF
printf 123 >in/letter.pdf
printf 1 >in/list
"$bin/put-away" in archive
check "files are sorted by extension" "$(find archive -type f | LC_ALL=C sort | tr '\n' ' ')" \
    "archive/none/list archive/pdf/bill.PDF archive/pdf/letter.pdf "

printf other >in/list
"$bin/put-away" in archive 2>err
check "a file that is there is told" "$? $(cat err)" "1 put-away: already in the archive: list"
check "and not overwritten" "$(cat archive/none/list in/list)" "1other"

"$bin/index" archive
check "the index has sizes and paths" "$(cat archive/INDEX)" $'1\tnone/list\n5\tpdf/bill.PDF\n3\tpdf/letter.pdf'

"$bin/fetch" archive out bill.PDF list nothing.pdf 2>err
check "fetch tells what is not there" "$? $(cat err)" "1 fetch: not in the archive: nothing.pdf"
check "and copies the rest" "$(cat out/bill.PDF out/list)" "123451"

rm in/list
printf 'in|archive\nmissing|archive\n' >boxes
printf 12 >in/new.txt
"$bin/nightly" boxes 2>err
check "nightly tells what is not there" "$? $(cat err)" "1 nightly: no inbox: missing"
check "and does the rest" "$(tail -n 1 archive/INDEX)" $'2\ttxt/new.txt'

[ "$failures" -eq 0 ] && echo "all is well"
exit $((failures > 0))
