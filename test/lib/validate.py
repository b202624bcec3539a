# Validates JSON documents by a JSON Schema: validate.py SCHEMA DOCUMENT...
# Prints the first errors of each document, a line each.
import itertools
import json
import sys

from jsonschema import Draft202012Validator

with open(sys.argv[1]) as file:
    schema = json.load(file)
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema)
for path in sys.argv[2:]:
    with open(path) as file:
        document = json.load(file)
    for error in itertools.islice(validator.iter_errors(document), 10):
        place = "/".join(map(str, error.absolute_path))
        print(f"{path}: {place}: {error.message[:300]}")
