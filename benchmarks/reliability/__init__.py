"""What a server answers, loses and leaks while what it depends on fails; see docs/reliability.md."""
