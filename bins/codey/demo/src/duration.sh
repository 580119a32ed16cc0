# Formats a number of seconds: 3723 becomes 1h 02m 03s.
format_duration() {
	seconds=$1
	hours=$((seconds / 3600))
	minutes=$((seconds / 60))
	printf '%dh %02dm %02ds\n' "$hours" "$minutes" "$((seconds % 60))"
}
