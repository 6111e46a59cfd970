/**
 * Kubernetes' validation rules for names. Each function returns the API server's error messages; an empty list means
 * valid.
 */
import { utf8Bytes } from "./utf8.ts";

const LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`;
const QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE = `(${QUALIFIED})?`;
const HEADER = "[-A-Za-z0-9]+";

const exactly = (pattern: string) => new RegExp(`^(?:${pattern})$`);
const [label, subdomain, qualified, labelValue, header] = [LABEL, SUBDOMAIN, QUALIFIED, LABEL_VALUE, HEADER].map(
  exactly,
) as [RegExp, RegExp, RegExp, RegExp, RegExp];

function regexTrouble(rule: string, pattern: string, ...examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(" or ");
  return examples.length === 0
    ? `${rule} (regex used for validation is '${pattern}')`
    : `${rule} (e.g. ${shown}regex used for validation is '${pattern}')`;
}

/** The API server always counts bytes but says "bytes" for labels only. */
const tooLong = (text: string, most: number, unit: "bytes" | "characters" = "characters") =>
  utf8Bytes(text).length > most ? [`must be no more than ${most} ${unit}`] : [];

const LABEL_RULE =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";

export function dnsLabelTroubles(name: string): readonly string[] {
  const troubles = tooLong(name, 63);
  if (label.test(name)) return troubles;
  if (subdomain.test(name)) return [...troubles, "must not contain dots"];
  return [...troubles, regexTrouble(LABEL_RULE, LABEL, "my-name", "123-abc")];
}

export const dnsSubdomainTroubles = (name: string): readonly string[] => subdomainTroubles(name, "characters");

function subdomainTroubles(name: string, unit: "bytes" | "characters"): readonly string[] {
  const troubles = tooLong(name, 253, unit);
  return subdomain.test(name) ? troubles : [...troubles, regexTrouble(SUBDOMAIN_RULE, SUBDOMAIN, "example.com")];
}

export function portNameTroubles(name: string): readonly string[] {
  return [
    ...tooLong(name, 15),
    ...(/^[-a-z0-9]+$/.test(name) ? [] : ["must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"]),
    ...(/[a-z]/.test(name) ? [] : ["must contain at least one letter (a-z)"]),
    ...(name.includes("--") ? ["must not contain consecutive hyphens"] : []),
    ...(name.startsWith("-") || name.endsWith("-") ? ["must not begin or end with a hyphen"] : []),
  ];
}

export const portNumberTroubles = (port: number): readonly string[] =>
  port >= 1 && port <= 65_535 ? [] : ["must be between 1 and 65535, inclusive"];

export const headerNameTroubles = (name: string): readonly string[] =>
  header.test(name)
    ? []
    : [regexTrouble("a valid HTTP header must consist of alphanumeric characters or '-'", HEADER, "X-Header-Name")];

export const variableNameTroubles = (name: string): readonly string[] =>
  /^[\x20-\x3c\x3e-\x7e]*$/.test(name)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];

export function labelKeyTroubles(key: string): readonly string[] {
  const parts = key.split("/");
  if (parts.length > 2) {
    return [
      "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
        `(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${QUALIFIED}') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const name = parts.at(-1) ?? "";
  const prefix = parts.length === 2 ? (parts[0] ?? "") : undefined;
  return [
    ...(prefix === "" ? ["prefix part must be non-empty"] : []),
    ...(prefix === undefined || prefix === ""
      ? []
      : subdomainTroubles(prefix, "bytes").map((trouble) => `prefix part ${trouble}`)),
    ...(name === "" ? ["name part must be non-empty"] : []),
    ...tooLong(name, 63, "bytes").map((trouble) => `name part ${trouble}`),
    ...(qualified.test(name)
      ? []
      : [
          `name part ${regexTrouble(
            "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            QUALIFIED,
            "MyName",
            "my.name",
            "123-abc",
          )}`,
        ]),
  ];
}

export function labelValueTroubles(value: string): readonly string[] {
  const troubles = tooLong(value, 63, "bytes");
  if (labelValue.test(value)) return troubles;
  const rule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  return [...troubles, regexTrouble(rule, LABEL_VALUE, "MyValue", "my_value", "12345")];
}
