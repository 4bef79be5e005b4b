"""What all black-box tests share: the marks."""


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "plain_build: what only a build without sanitizers shows (its memory, its libraries), and what"
        " takes long by waiting or repeating while shorter tests run the same code with them",
    )
