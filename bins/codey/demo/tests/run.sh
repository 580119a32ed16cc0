# Runs all tests; exits 1 if one fails.
. "$(dirname "$0")/../src/duration.sh"

failed=0
check() {
	actual=$(format_duration "$1")
	if [ "$actual" = "$2" ]; then
		echo "ok   $1 is $2"
	else
		echo "FAIL $1: expected $2, got $actual"
		failed=$((failed + 1))
	fi
}

check 0 '0h 00m 00s'
check 59 '0h 00m 59s'
check 3599 '0h 59m 59s'
check 3723 '1h 02m 03s'
check 86400 '24h 00m 00s'

if [ "$failed" -gt 0 ]; then
	echo "$failed of 5 tests failed"
	exit 1
fi
echo 'all 5 tests passed'
