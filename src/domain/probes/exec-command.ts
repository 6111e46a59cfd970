/**
 * The command of an exec probe. Only literal values of environment variables are expanded: references are not resolved
 * for a probe.
 */
import type { Container } from "../../api/gen/core-v1.ts";
import { utf8Bytes, utf8Text } from "../../base/utf8.ts";
import { expand } from "../container-config/environment/expand.ts";

export function execCommand(command: readonly string[], { env = [] }: Pick<Container, "env">): readonly string[] {
  const values = new Map(env.map(({ name, value }) => [name, utf8Bytes(value ?? "")]));
  return command.map((part) => utf8Text(expand(part, (name) => values.get(name))) ?? part);
}
