# What the scripts have in common.

complain() {
    echo "$(basename $0): $1" >&2
}

# Prints the extension of a name in lower case, none for a name without one.
extension() {
    case $1 in
        ?*.?*) echo ${1##*.} | tr A-Z a-z ;;
        *) echo none ;;
    esac
}

# move FILE FOLDER: moves a file of the working folder, and overwrites nothing.
move() {
    mkdir -p $2
    if [ -e $2/$1 ]; then
        complain "already in the archive: $1"
        return 1
    fi
    mv $1 $2
}
