#!/usr/bin/env bash
# check.sh BIN FOLDER: the scripts with difficult names. The last line is "ok" if all is right.
set -u
bin=$1
cd "$2" && mkdir work && cd work || exit 2

wrong() { echo "wrong: $*"; exit 1; }
same() { [ "$2" = "$3" ] || wrong "$1: $(printf '%q instead of %q' "$2" "$3")"; }

# Each name with the folder it belongs to; what a file holds is its name.
names=("two words.txt" "two  blanks.txt" " first.txt" "last .txt" "-n.txt" "-rf" "--help.pdf" "- a dash.PDF" "[1] plan.txt"
    "*.txt" "it's \"so\".txt" 'back\tslash.txt' '$HOME.txt' "letter.old copy" "a.txt" "-e" "odd.-n" "notes.")
folders=(txt txt txt txt txt none pdf pdf txt txt txt txt txt "old copy" txt none -n none)
fill() {
    mkdir -p "$1"
    for name in "${names[@]}"; do printf '%s' "$name" >"$1/$name"; done
}
has_all() {
    for i in "${!names[@]}"; do
        file=$1/${folders[i]}/${names[i]}
        [ -f "$file" ] || wrong "$2: not in the archive: ${folders[i]}/${names[i]}"
        same "$2: what is in ${names[i]}" "$(cat "$file")" "${names[i]}"
    done
    same "$2: number of files" "$(find "$1" -type f ! -path "$1/INDEX" | wc -l | tr -d ' ')" "${#names[@]}"
}

# put-away
fill "in box"
mkdir "in box/a folder.txt" "the archive"
touch "in box/.hidden one"
"$bin/put-away" "in box" "the archive" || wrong "put-away ends with $?"
has_all "the archive" put-away
same "what stays in the inbox" "$(ls -A "in box")" $'.hidden one\na folder.txt'

# Nothing is overwritten.
for name in "-n.txt" "two words.txt"; do printf new >"in box/$name"; done
"$bin/put-away" "in box" "the archive" 2>err && wrong "put-away ends with 0 though files are there"
same "what is told" "$(cat err)" $'put-away: already in the archive: -n.txt\nput-away: already in the archive: two words.txt'
has_all "the archive" "put-away a second time"
same "the new file" "$(cat "in box/-n.txt" "in box/two words.txt")" newnew

# index
mkdir "the archive/pdf/more of it"
printf 1234567 >"the archive/pdf/more of it/-x.pdf"
"$bin/index" "the archive" || wrong "index ends with $?"
want=$({
    for i in "${!names[@]}"; do printf '%d\t%s\n' "${#names[i]}" "${folders[i]}/${names[i]}"; done
    printf '7\tpdf/more of it/-x.pdf\n'
} | LC_ALL=C sort)
same "the index" "$(LC_ALL=C sort "the archive/INDEX")" "$want"
same "order of the index" "$(cut -f 2- "the archive/INDEX")" "$(cut -f 2- "the archive/INDEX" | LC_ALL=C sort)"
rm -r "the archive/pdf/more of it"

# fetch
"$bin/fetch" "the archive" "out tray" "${names[@]}" || wrong "fetch ends with $?"
for name in "${names[@]}"; do same "fetched $name" "$(cat "out tray/$name" 2>&1)" "$name"; done
same "number of fetched files" "$(find "out tray" -type f | wc -l | tr -d ' ')" "${#names[@]}"
"$bin/fetch" "the archive" "out 2" "-no such.pdf" "a.txt" 2>err && wrong "fetch ends with 0 though a file is not there"
same "what fetch tells" "$(cat err)" "fetch: not in the archive: -no such.pdf"
same "what fetch copies all the same" "$(ls "out 2")" a.txt

# nightly
fill 'night in\box'
mkdir "night archive"
printf '%s\n' 'no box here|night archive' 'night in\box|night archive' >"list of boxes"
"$bin/nightly" "list of boxes" 2>err && wrong "nightly ends with 0 though an inbox is not there"
same "what nightly tells" "$(cat err)" "nightly: no inbox: no box here"
has_all "night archive" nightly
same "the index of the night" "$(wc -l <"night archive/INDEX" | tr -d ' ')" "${#names[@]}"
echo ok
