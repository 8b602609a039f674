"""Says of answers of the server whether they are as openapi.json has them, by jsonschema, which is independent of us.

Each question is {"route", "status", "type", "fields", "body"}, with the names of the fields in any case and the body as
text; each answer {"flaws"}, a list that is empty for an answer as it should be.
"""

import json
import pathlib
import sys

import jsonschema
import referencing
import referencing.jsonschema

FILE = pathlib.Path(__file__).resolve().parent.parent.parent / "Sources/PushServer/openapi.json"
DOCUMENT = json.loads(FILE.read_text())
NAME = "urn:sealpost"
RESOURCE = referencing.Resource(DOCUMENT, referencing.jsonschema.DRAFT202012)
REGISTRY = referencing.Registry().with_resource(NAME, RESOURCE)


def resolved(part):
    """Returns a part of the document, or the part that its reference names."""
    return REGISTRY.resolver(NAME).lookup(part["$ref"]).contents if "$ref" in part else part


def flaws(schema, value):
    # References lead to the whole document instead of this part of it.
    schema = json.loads(json.dumps(schema).replace('"#/', f'"{NAME}#/'))
    validator = jsonschema.Draft202012Validator(schema, registry=REGISTRY, format_checker=jsonschema.FormatChecker())
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in validator.iter_errors(value)]


def judge(question):
    method, path = question["route"].split(" ")
    responses = DOCUMENT["paths"][path][method.lower()]["responses"]
    if str(question["status"]) not in responses:
        return [f"{question['status']} is not in the document"]
    response = resolved(responses[str(question["status"])])
    found = []
    fields = {name.lower(): value for name, value in question["fields"].items()}
    for name, header in response.get("headers", {}).items():
        header = resolved(header)
        value = fields.get(name.lower())
        if value is None:
            found += [f"{name} is missing"] if header.get("required") else []
        else:
            found += flaws(header["schema"], int(value) if header["schema"].get("type") == "integer" else value)
    content = response.get("content", {})
    kind = question["type"].split(";")[0]
    if not content or not question["body"]:
        return found + ([f"a body of {kind}"] if question["body"] else [])
    if kind not in content:
        return found + [f"{kind} is not in the document"]
    body = json.loads(question["body"]) if kind.endswith("json") else question["body"]
    return found + flaws(content[kind]["schema"], body)


with open(sys.argv[1]) as questions, open(sys.argv[2], "w") as answers:
    for line in questions:
        answers.write(json.dumps({"flaws": judge(json.loads(line))}) + "\n")
