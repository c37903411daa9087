"""Wrong and right solutions of the course's exercises (tools/course), to try the grader's checks and names on."""
