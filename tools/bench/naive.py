"""The admission server that one writes first: Flask, `get_json`, a pydantic model, `jsonify`; a reference, not ours.

Has the product's typed model and none of its rules, defaults, official types or answers to bad input.
"""

from __future__ import annotations

from flask import Flask, Response, jsonify, request
from pydantic import ValidationError

from sync_hooks.api.workloadrun import WorkloadRunSpec

app = Flask(__name__)


@app.post("/validate")
def validate() -> Response:
    """Answer whether the object has the model's types."""
    asked = request.get_json()["request"]
    response = {"uid": asked["uid"], "allowed": True}
    try:
        WorkloadRunSpec.model_validate(asked["object"]["spec"])
    except ValidationError as error:
        response = {"uid": asked["uid"], "allowed": False, "status": {"message": str(error)}}
    return jsonify({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
