/** The CRI client on real containerd keeps the contracts of the Runtime and Images ports, with unary lists and with streamed ones. */
import { imagesContract } from "../contract/images-contract.ts";
import { runtimeContract } from "../contract/runtime-contract.ts";
import { containerdWorld } from "./containerd-world.ts";

runtimeContract("wire/cri on containerd", () => containerdWorld({ streamLists: false }));
imagesContract("wire/cri on containerd, lists streamed", () => containerdWorld({ streamLists: true }));
