# The checks that failed, from the output of a suite of test/run: a line for each, then, indented,
# what it got and expected.  Knows the outputs of Test::More, pg_regress, cargo test, rustc
# and cargo fmt; of anything else that failed, shows the last lines.
#   -v name=SUITE   comes first in each line
#   -v status=1     exit status of the suite

BEGIN { most_details = 10 }

# Starts a failed check.  Details are the lines after it that match the pattern, up to the first
# that matches the other one.
function check(what, pattern, end_pattern) {
    print cut(name ": " what)
    found++
    details = 0
    details_are = pattern
    details_end = end_pattern
}
function detail(line) {
    sub(/^(# ?|died: )/, "", line)
    if (line ~ /[^ \t]/ && details++ < most_details) print cut("    " line)
}
function cut(line) {
    return length(line) > 300 ? substr(line, 1, 297) "..." : line
}

# Test::More, and last_words of test/run.
/^# +Failed test/ {
    where = ""
    if ($0 !~ / line [0-9]+\.$/ && (getline where) > 0) sub(/^# +/, " ", where)
    sub(/^# +/, "")
    check($0 where, "^#", "^[^#]|^$|^# Looks like|^# Tests were run")
    next
}
/^# poll_query_until timed out/ { check(substr($0, 3), "^#", "^[^#]|^$|^# +Failed"); next }
/^Bailout called/ { check($0, "^died: ", "^=="); next }
/^died: / && details_are != "^died: " { check("ended early: " substr($0, 7), "^died: ", "^=="); next }
/^faults in a server's log:$/ { check($0, ".", "^== "); next }

# pg_regress, and the differences that test/run shows.
/^(test +)?[a-z_0-9]+ +\.\.\. FAILED.* ms$|^not ok [0-9]+ +[-+] +[a-z_0-9]+ +[0-9]+ ms/ { check($0, "", ""); next }
/^diff -U/ { check($3, "^[-+@ ]", "^diff "); next }
/^(---|\+\+\+) / && details_end == "^diff " { next }

# cargo test.
/^---- .* ----$/ { check($0, ".", "^(---- |failures:|note: )"); next }

# rustc, clippy and cargo fmt.
/^error(\[|:)/ && !/^error: (could not compile|test failed|[0-9]+ targets? failed)/ { check($0, ".", "^$"); next }
/^Diff in / { check($0, ".", "^$"); next }

details_end != "" && $0 ~ details_end { details_are = "" }
details_are != "" { if ($0 ~ details_are) detail($0) }
/[^ \t]/ && !/^== .* failed, [0-9]+ s$/ { last[++lines] = $0 }

END {
    if (found) exit
    check("exit status " status, "", "")
    for (i = lines > most_details ? lines - most_details + 1 : 1; i <= lines; i++) detail(last[i])
}
