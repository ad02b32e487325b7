"""A folder of blobs, and what of it may be away."""

import shutil

import pytest

from triage.errors import Unavailable
from triage.store.blobs.folder import FolderBlobs
from triage.store.blobs.interface import open_blobs

KEY = "blob_01m86xzewgdnbyw6p5ea"


def test_a_volume_that_is_gone_is_not_made_anew(tmp_path):
    """What is written to the place of a volume is out of sight when that is mounted again."""
    root = tmp_path / "blobs"
    FolderBlobs(root, min_free_bytes=0)
    root.rename(tmp_path / "away")
    for mount_point in (False, True):
        if mount_point:
            root.mkdir()
        other = FolderBlobs(root, min_free_bytes=0)
        with pytest.raises(Unavailable, match="is not there") as caught:
            other.begin(KEY)
        assert "mount its volume" in caught.value.hint
        with pytest.raises(Unavailable):
            other.check()
    root.rmdir()
    (tmp_path / "away").rename(root)
    other.begin(KEY).abort()


def test_a_process_that_starts_while_the_volume_is_gone_leaves_its_place_free(tmp_path):
    open_blobs(None, tmp_path, min_free_bytes=0)
    (tmp_path / "blobs").rename(tmp_path / "away")
    other = open_blobs(None, tmp_path, min_free_bytes=0)
    assert not (tmp_path / "blobs").exists()
    with pytest.raises(Unavailable, match="is not there"):
        other.check()


def test_a_folder_begins_anew_when_a_person_says_so(tmp_path):
    root = tmp_path / "blobs"
    shutil.rmtree(FolderBlobs(root, min_free_bytes=0).root)
    (tmp_path / "blobs.made").rmdir()
    FolderBlobs(root, min_free_bytes=0).begin(KEY).abort()
