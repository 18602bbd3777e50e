"""One evaluation over several processors: task graphs, schedules of them, their check, and code that runs them on threads."""
