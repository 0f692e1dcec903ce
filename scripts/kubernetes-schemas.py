"""Makes JSON schemas for kubeconform out of Kubernetes' own OpenAPI document.

usage: kubernetes-schemas.py SWAGGER FOLDER KIND...

The schemas are strict: a field that Kubernetes does not know is an error.
"""

import json
import pathlib
import sys

PREFIX = "#/definitions/"


def strict(node):
    """Returns node as JSON Schema that refuses unknown fields."""
    if isinstance(node, list):
        return [strict(n) for n in node]
    if not isinstance(node, dict):
        return node
    if node.get("format") == "int-or-string":
        return {"type": ["string", "integer"]}
    out = {k: strict(v) for k, v in node.items() if not k.startswith("x-")}
    if "properties" in node and isinstance(node["properties"], dict):
        out.setdefault("additionalProperties", False)
    return out


def references(node):
    """Yields the names of the definitions that node refers to."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].removeprefix(PREFIX)
        for v in node.values():
            yield from references(v)
    elif isinstance(node, list):
        for v in node:
            yield from references(v)


def reachable(name, definitions):
    """Returns the definitions that name needs, itself among them."""
    found, left = {}, [name]
    while left:
        n = left.pop()
        if n not in found:
            found[n] = definitions[n]
            left += references(definitions[n])
    return found


def main(swagger, folder, *kinds):
    source = json.loads(pathlib.Path(swagger).read_text())["definitions"]
    definitions = {name: strict(d) for name, d in source.items()}
    # Written as numbers more often than not.
    definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"] = {"type": ["string", "number"]}
    for name, d in source.items():
        for gvk in d.get("x-kubernetes-group-version-kind", []):
            if gvk["kind"] not in kinds:
                continue
            group = gvk["group"].split(".")[0]
            file = "-".join(p for p in (gvk["kind"], group, gvk["version"]) if p).lower() + ".json"
            schema = {"$ref": PREFIX + name, "definitions": reachable(name, definitions)}
            (pathlib.Path(folder) / file).write_text(json.dumps(schema))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
