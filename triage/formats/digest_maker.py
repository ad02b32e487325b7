"""The digest of one dump, as ``triage collect --digest`` sends it."""

from triage.domain.rank_digest import RankDigest
from triage.domain.report import Refused
from triage.errors import ArtifactError
from triage.formats.dumps import DumpReader, is_dump
from triage.formats.extractor import describe_operations
from triage.formats.node_digest import read_node_digest, write_node_digest


def make_digest_file(reader: DumpReader, data: bytes, name: str) -> bytes:
    """The file of the digest of one plain dump.

    Raises :class:`ArtifactError` for what is to be sent as it is: no dump, one that cannot be
    read, and one that a digest would not make smaller.
    """
    if not is_dump(data[:4096], name):
        raise ArtifactError("no plain dump")
    reader.forget()
    digest = reader.dump(reader.decoder(), data, name)
    if not isinstance(digest, RankDigest):
        raise ArtifactError(digest.why if isinstance(digest, Refused) else "no dump")
    made = write_node_digest(name, len(data), digest, describe_operations([digest], reader.shared))
    read_node_digest(made)  # what the service would refuse is not sent
    if len(made) >= len(data):
        raise ArtifactError("its digest is no smaller")
    return made
