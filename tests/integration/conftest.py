"""What all black-box tests share: the marks."""


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "plain_build: what only a build without sanitizers shows (its memory, its libraries), and"
        " what waits and repeats for long, while shorter tests run the same code with them",
    )
