/** Parses a D-Bus address as given in the environment: "unix:path=/run/dbus/system_bus_socket;unix:abstract=x". */

/** The socket paths in order, in Node's notation. Transports other than local sockets are left out. */
export function socketPaths(address: string): readonly string[] {
  return address.split(";").flatMap((one) => {
    const [transport, options = ""] = one.split(":", 2);
    if (transport !== "unix") return [];
    const values = new Map(options.split(",").map((option) => option.split("=", 2) as [string, string | undefined]));
    const [path, abstract] = [values.get("path"), values.get("abstract")];
    if (path !== undefined) return [unescaped(path)];
    return abstract === undefined ? [] : [`\0${unescaped(abstract)}`];
  });
}

const unescaped = (text: string) =>
  text.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
