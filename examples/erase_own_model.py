"""Erase a class from a network of your own that was trained on a data set of your own."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

import sublimate as sm


class Scans(Dataset[tuple[Tensor, int]]):
    classes = tuple("0123456789")

    def __init__(self, rows: range) -> None:
        table = load_digits()
        self.images = torch.from_numpy(table.images[rows]).float().div(8).sub(1)[:, None]  # as the network takes them
        self.targets = [int(label) for label in table.target[rows]]

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, row: int) -> tuple[Tensor, int]:
        return self.images[row], self.targets[row]


def trained(scans: Scans) -> nn.Module:
    torch.manual_seed(0)
    features = (nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    model = nn.Sequential(*features, nn.Linear(512, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(10):
        for x, y in DataLoader(scans, batch_size=64, shuffle=True):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    return model.eval()


def main() -> None:
    train, test = Scans(range(1400)), Scans(range(1400, 1797))
    model = trained(train)
    data = sm.Data.from_dataset(train, test, ids=[f"scan-{row}" for row in range(len(train))], flip=False)
    result = sm.erase(model, data, "class:3")  # or sm.Records("scan-7", "scan-19")
    print("before", result.before)
    print("after ", result.after)


if __name__ == "__main__":
    main()
