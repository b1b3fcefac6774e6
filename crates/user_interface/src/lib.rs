//! PostgreSQL protocol sessions; SQL compiled to action programs.
