/** Runs `kubectl logs -f` of a pod that numbers its lines; checks and counts the lines without keeping them. */
import { spawn } from "node:child_process";
import type { Cluster } from "../../cluster/cluster.ts";

export class LineFollower {
  next = 1;
  trouble: string | undefined;
  readonly ended: Promise<void>;

  constructor({ kubectlCommand }: Pick<Cluster, "kubectlCommand">, ...args: readonly string[]) {
    const [file, ...first] = kubectlCommand;
    const child = spawn(file, [...first, "logs", "-f", ...args], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let rest = "";
    child.stdout.setEncoding("latin1");
    child.stdout.on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#take(line);
    });
    let said = "";
    child.stderr.on("data", (text: Buffer) => {
      said += text.toString();
    });
    this.ended = new Promise((resolve) => {
      child.on("close", (code) => {
        if (code !== 0 || said !== "" || rest !== "") this.trouble ??= `ended with ${code}: ${said}${rest}`;
        resolve();
      });
    });
  }

  #take(line: string): void {
    const number = Number(line.slice(0, line.indexOf(" ")));
    if (number !== this.next) this.trouble ??= `${number} came where ${this.next} should`;
    this.next = number + 1;
  }
}
