/** Opens a connection to a gRPC address. */
import { Resolver } from "node:dns";
import { connect, isIP, type LookupFunction, type Socket } from "node:net";
import type { GrpcAddress } from "./grpc-address.ts";

export function connectAddress(address: GrpcAddress): Socket {
  if (address.kind === "socket") return connect({ path: address.path });
  const { host, port, nameServer } = address;
  if (nameServer === "") return connect({ host, port });
  return connect({ host, port, lookup: askedOf(nameServer) });
}

/** Resolves names with this name server. */
function askedOf(nameServer: string): LookupFunction {
  return (host, options, done) => {
    const resolver = new Resolver();
    const reported = (error: Error | null, addresses: readonly string[] = []) => {
      const [first = ""] = addresses;
      if (error !== null) done(error, "");
      else if (options.all === true)
        done(
          null,
          addresses.map((address) => ({ address, family: isIP(address) })),
        );
      else done(null, first, isIP(first));
    };
    try {
      resolver.setServers([nameServer]);
      if (options.family === 6) resolver.resolve6(host, reported);
      else resolver.resolve4(host, reported);
    } catch (error) {
      reported(error instanceof Error ? error : new Error(String(error)));
    }
  };
}
