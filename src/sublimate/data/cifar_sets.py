"""CIFAR-10 and CIFAR-100 as facts: file names, class names, and the digests of the one true content."""

from __future__ import annotations

from dataclasses import dataclass

TEN = "airplane automobile bird cat deer dog frog horse ship truck"
FINE = """
apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can
castle caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin
elephant flatfish forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion lizard lobster
man maple_tree motorcycle mountain mouse mushroom oak_tree orange orchid otter palm_tree pear pickup_truck
pine_tree plain plate poppy porcupine possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk
skyscraper snail snake spider squirrel streetcar sunflower sweet_pepper table tank telephone television tiger
tractor train trout tulip turtle wardrobe whale willow_tree wolf woman worm
"""


@dataclass(frozen=True, kw_only=True)
class Cifar:
    """What tells the two sets apart."""

    name: str
    classes: tuple[str, ...]
    python: tuple[str, str]  # archive, and the folder inside it
    binary: tuple[str, str]
    batches: tuple[str, ...]  # the last one is the test part
    label_key: str  # in a Python batch
    label_bytes: int  # in a binary record
    mosaic_keys: tuple[str, str]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    digests: tuple[str, str, str]  # SHA-256 of training pixels, test pixels (n, 32, 32, 3), and all labels as bytes


CIFAR10 = Cifar(
    name="cifar10",
    classes=tuple(TEN.split()),
    python=("cifar-10-python.tar.gz", "cifar-10-batches-py"),
    binary=("cifar-10-binary.tar.gz", "cifar-10-batches-bin"),
    batches=("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"),
    label_key="labels",
    label_bytes=1,
    mosaic_keys=("train", "test"),
    mean=(0.49140, 0.48216, 0.44653),
    std=(0.24703, 0.24349, 0.26159),
    digests=(
        "47af8b02cfcfb6cdf3dbbd1969ad7f1b70f4413f6f80f437b020ee4e5bc8304a",
        "f9b1e2130bab680db56eb06d886f7f1ad0f1183907ceff4659d1735c890f5b04",
        "3edb456524d5918aefded81f5aef7c32efab2a788211df998a4eb0c8957baa1f",
    ),
)

CIFAR100 = Cifar(
    name="cifar100",
    classes=tuple(FINE.split()),
    python=("cifar-100-python.tar.gz", "cifar-100-python"),
    binary=("cifar-100-binary.tar.gz", "cifar-100-binary"),
    batches=("train", "test"),
    label_key="fine_labels",
    label_bytes=2,
    mosaic_keys=("train_fine", "test_fine"),
    mean=(0.50708, 0.48655, 0.44092),
    std=(0.26733, 0.25644, 0.27615),
    digests=(
        "4e457917601a66aed021f5fa37957b56c6319557c0a8ed5484de3c390af45430",
        "4cb8e5d9309da489bf6b19cc10cd96c3ae6f8daf225380b605aaee4c0d6aee19",
        "75e380d51ae23ac7a9861b27461653bcfb0bc33b5ba3d2e289b76b025197c81f",
    ),
)
