"""Object storage by cloud: environment variables, keys and connections."""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from biasgrid.catalogs.errors import Problem, UserError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

CLIENT = {
    "connect_timeout": timedelta(seconds=5),
    "read_timeout": timedelta(seconds=30),
    "timeout": timedelta(hours=12),  # of a whole file; by default every download ends after 30 s
}
ANY_REGION = "us-east-1"
"""Region for storage without regions."""


class Cloud:
    """A kind of object storage, named by the scheme of an address. Environment variables: `endpoints` with a
    server other than the cloud's own; `keys`, needed together; `other_keys`, each in place of them; `key_files`,
    each by the variable that may name another file than the usual one."""

    scheme = service = store = ""
    bucket, bucket_name = "bucket", re.compile(r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]")
    endpoints: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    other_keys = re.compile("")
    instead = ""
    key_files: ClassVar[dict[str, str]] = {}

    @property
    def form(self) -> str:
        return f"{self.scheme}://{self.bucket}/prefix"

    def endpoint(self) -> str:
        """The address of a server other than the cloud's own; empty if there is none."""
        return _first(self.endpoints)

    def has_keys(self) -> bool:
        """Whether the environment or a file provides keys. The cloud's own machines may need neither."""
        others = (name for name, value in os.environ.items() if value and self.other_keys.fullmatch(name))
        if all(map(os.environ.get, self.keys)) or any(others):
            return True
        return any(_key_file(name, usual).is_file() for name, usual in self.key_files.items())

    def missing_keys(self) -> list[str]:
        """Environment variables without which no request can be signed."""
        return [name for name in self.keys if not os.environ.get(name)] if self.endpoint() else []

    def config(self, bucket: str) -> dict[str, Any]:
        """Settings of a connection, with credentials that obstore does not find in the environment."""
        raise NotImplementedError

    def connect(self, bucket: str, prefix: str, retries: Any) -> ObjectStore:
        """The objects below a prefix. Raises `UserError` if the environment is invalid."""
        from obstore import store

        if missing := self.missing_keys():
            what = f"there are no keys for {self.service}: {' and '.join(f'`{name}`' for name in missing)} not set"
            raise UserError(Problem(what, "environment", f"set them in the environment{self.instead}"))
        client = {**CLIENT, "allow_http": _is_plain_http(self.endpoint(), self.endpoints)}
        options = {"client_options": client, "retry_config": retries, **self.config(bucket)}
        made: ObjectStore = getattr(store, self.store)(bucket, prefix=prefix or None, **options)
        return made


class S3(Cloud):
    scheme, service, store = "s3", "S3", "S3Store"
    bucket_name = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
    endpoints = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
    regions = ("AWS_REGION", "AWS_DEFAULT_REGION")
    keys = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    other_keys = re.compile(r"AWS_(PROFILE|WEB_IDENTITY_TOKEN_FILE|CONTAINER_CREDENTIALS_(RELATIVE|FULL)_URI)")
    instead = ", or name a profile (AWS_PROFILE)"
    key_files: ClassVar = {"AWS_SHARED_CREDENTIALS_FILE": ".aws/credentials", "AWS_CONFIG_FILE": ".aws/config"}

    def missing_keys(self) -> list[str]:
        missing = [name for name in self.keys if not os.environ.get(name)]
        return missing if len(missing) == 1 or (self.endpoint() and not self.has_keys()) else []

    def config(self, bucket: str) -> dict[str, Any]:
        config = {"region": _first(self.regions) or (ANY_REGION if self.endpoint() else _region(bucket))}
        if endpoint := self.endpoint():
            config["endpoint"] = endpoint.rstrip("/")
        profile = None if all(map(os.environ.get, self.keys)) else self._profile()
        return {"config": config, **({"credential_provider": lambda: profile} if profile else {})}

    def _profile(self) -> dict[str, Any] | None:
        """The keys of the profile in Amazon's files. Raises `UserError` if a profile without keys is named."""
        named = os.environ.get("AWS_PROFILE")
        for section in _sections(*(_key_file(name, usual) for name, usual in self.key_files.items())):
            if section.name in (named or "default", f"profile {named}") and "aws_access_key_id" in section:
                keys = {name: section.get(f"aws_{name}") for name in ("access_key_id", "secret_access_key")}
                return {**keys, "token": section.get("aws_session_token"), "expires_at": None}
        if named:
            remedy = f"export them: aws configure export-credentials --profile {named} --format env"
            raise UserError(Problem(f"the profile `{named}` has no keys of its own", "AWS_PROFILE", remedy))
        return None


class Google(Cloud):
    scheme, service, store = "gs", "Google Cloud Storage", "GCSStore"
    endpoints = ("STORAGE_EMULATOR_HOST", "GOOGLE_BASE_URL")
    keys = ("GOOGLE_APPLICATION_CREDENTIALS",)
    other_keys = re.compile(r"GOOGLE_(SERVICE_ACCOUNT(_PATH|_KEY)?|BEARER_TOKEN)")
    key_files: ClassVar = {"": ".config/gcloud/application_default_credentials.json"}

    def missing_keys(self) -> list[str]:
        return []  # emulators check none

    def config(self, bucket: str) -> dict[str, Any]:
        if not (endpoint := self.endpoint()):
            return {}
        token = os.environ.get("GOOGLE_BEARER_TOKEN") or "emulator"
        return {"config": {"base_url": endpoint.rstrip("/"), "bearer_token": token}}


class Azure(Cloud):
    scheme, service, store, bucket = "az", "Azure Blob Storage", "AzureStore", "container"
    bucket_name = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
    endpoints = ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT")
    accounts = ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT")
    keys = ("AZURE_STORAGE_ACCOUNT_KEY",)
    other_keys = re.compile(
        r"AZURE_(STORAGE_((ACCESS_)?KEY|SAS_(KEY|TOKEN)|TOKEN)|CLIENT_SECRET|FEDERATED_TOKEN_FILE)"
    )
    instead = ", or AZURE_STORAGE_SAS_TOKEN in place of the key"

    def missing_keys(self) -> list[str]:
        account = [] if _first(self.accounts) else [self.accounts[0]]
        return account + (list(self.keys) if self.endpoint() and not self.has_keys() else [])

    def config(self, bucket: str) -> dict[str, Any]:
        key = _first((*self.keys, "AZURE_STORAGE_KEY"))
        named = {
            "account_name": _first(self.accounts),
            "account_key": key,
            "endpoint": self.endpoint().rstrip("/"),
        }
        return {"config": {name: value for name, value in named.items() if value}}


CLOUDS: dict[str, Cloud] = {cloud.scheme: cloud for cloud in (S3(), Google(), Azure())}


def _first(names: Sequence[str]) -> str:
    return next((value for name in names if (value := os.environ.get(name))), "")


def _is_plain_http(endpoint: str, variables: Sequence[str]) -> bool:
    parts = urlsplit(endpoint)
    is_server = parts.scheme in ("http", "https") and parts.hostname and not parts.username and not parts.query
    if endpoint and not is_server:
        remedy = "write `https://host` or `http://host:port`, without keys"
        raise UserError(Problem("the endpoint is no address of a server", " or ".join(variables), remedy))
    return parts.scheme == "http"


def _key_file(variable: str, usual: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / usual)


def _sections(*files: Path) -> Iterator[configparser.SectionProxy]:
    for file in files:
        found = configparser.RawConfigParser()
        try:
            found.read(file, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError, OSError):  # their messages repeat lines
            raise UserError(Problem("the profiles cannot be read", str(file), "correct the file")) from None
        yield from (found[name] for name in found.sections())


def _region(bucket: str) -> str:
    """The region in which Amazon keeps a bucket; if unknown, any: the first request reports the error."""
    from pyarrow import fs

    try:
        found: str = fs.resolve_s3_region(bucket)
    except OSError:
        return ANY_REGION
    return found
