# SPDX-License-Identifier: BSD-3-Clause
"""The part of JSON Schema that the report's schema uses."""


def errors(value, schema, root=None, where="$"):
    """A list of what is wrong; empty where the value fits. Unknown keywords are errors, so that none is ignored."""
    root = root if root is not None else schema
    found = []
    known = {"$schema", "$defs", "title", "description", "$ref", "type", "const", "enum", "anyOf", "required",
             "properties", "additionalProperties", "items", "minItems", "maxItems"}
    for keyword in schema:
        if keyword not in known:
            found.append(f"{where}: the schema uses {keyword}, which is not understood")
    if "$ref" in schema:
        target = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        found += errors(value, target, root, where)
    if "type" in schema and not has_type(value, schema["type"]):
        return found + [f"{where}: expected {schema['type']}, found {value!r:.60}"]
    if "const" in schema and value != schema["const"]:
        found.append(f"{where}: expected {schema['const']!r}, found {value!r:.60}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{where}: expected one of {schema['enum']}, found {value!r:.60}")
    if "anyOf" in schema and all(errors(value, option, root, where) for option in schema["anyOf"]):
        found.append(f"{where}: {value!r:.60} fits none of the alternatives")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        found += [f"{where}: {key} is missing" for key in schema.get("required", []) if key not in value]
        for key, element in value.items():
            if key in properties:
                found += errors(element, properties[key], root, f"{where}.{key}")
            elif schema.get("additionalProperties") is False:
                found.append(f"{where}: {key} is not allowed")
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0) or len(value) > schema.get("maxItems", len(value)):
            found.append(f"{where}: {len(value)} items are too few or too many")
        if "items" in schema:
            for i, element in enumerate(value):
                found += errors(element, schema["items"], root, f"{where}[{i}]")
    return found


def has_type(value, name):
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}[name])
