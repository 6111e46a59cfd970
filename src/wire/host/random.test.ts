import { randomContract } from "../../../test/contract/random-contract.ts";
import { hostRandom } from "./random.ts";

randomContract("the machine's randomness", () => hostRandom);
