/**
 * Compares a file with a zod schema and reports every difference at its place, in our words: unknown, missing, empty and
 * mistyped fields, each with the text to write. Wrong values are marked, so that later checks skip them.
 */
import * as z from 'zod';
import { hints } from './leaves.ts';
import type { Hint } from './leaves.ts';
import { nearest } from './nearest.ts';
import { quoted } from './printable.ts';
import type { Complaint, Path, YamlSource } from './yaml-source.ts';

/** Fields of other kinds or later versions, by `parent.field`, each with the message that takes the place of "unknown". */
export type Reserved = Readonly<Record<string, { readonly message: string; readonly fix: string }>>;

/** The parsed value; null when anything differs (then every difference is in `source.problems()`). */
export function checkStructure<S extends z.ZodType>(
  schema: S,
  source: YamlSource,
  reserved: Reserved,
): z.output<S> | null {
  const result = schema.safeParse(source.value);
  if (result.success) return result.data;
  for (const issue of result.error.issues) reportIssue({ schema, source, reserved }, issue, []);
  return null;
}

type Context = { readonly schema: z.ZodType; readonly source: YamlSource; readonly reserved: Reserved };
type Issue = z.core.$ZodIssue;

function reportIssue(context: Context, issue: Issue, base: Path): void {
  const { source } = context;
  const path: Path = [...base, ...issue.path.map((step) => (typeof step === 'number' ? step : String(step)))];
  if (source.isSpoiled(path)) return;
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys)
      source.report(source.keyPlaceAt([...path, key]), unknownField(context, path, key));
    return;
  }
  const shape = source.shapeAt(path);
  const branch =
    issue.code === 'invalid_union' && (shape === 'map' || shape === 'list')
      ? issue.errors.find(isInside)
      : undefined;
  if (branch !== undefined) {
    for (const inner of branch) reportIssue(context, inner, path);
    return;
  }
  source.spoil(path);
  if (!source.has(path)) {
    const parent = path.slice(0, -1);
    source.report(source.keyPlaceAt(parent), missingField(context, path));
    return;
  }
  const place = issue.code === 'invalid_key' ? source.keyPlaceAt(path) : source.placeAt(path);
  source.report(place, issue.code === 'invalid_key' ? wrongKey(context, path) : wrongValue(context, path));
}

/**
 * True for the branch of a union that takes a map or a list. Its complaint is about a part of the value, not about the
 * whole.
 */
function isInside(issues: readonly Issue[]): boolean {
  return issues.every((issue) => issue.path.length > 0 || issue.code === 'unrecognized_keys');
}

function unknownField(context: Context, path: Path, key: string): Complaint {
  const known = fieldsOf(schemaAt(context.schema, path));
  const name = [...path, key].filter((step) => typeof step === 'string').join('.');
  const reserved = Object.hasOwn(context.reserved, name) ? context.reserved[name] : undefined;
  if (reserved !== undefined) return { mistake: 'NOT_AVAILABLE', ...reserved };
  const near = nearest(key, known);
  const all = `${where(path)} has ${known.join(', ')}`;
  return {
    mistake: 'UNKNOWN_FIELD',
    message: `${quoted(key)} is no field of ${where(path)}`,
    fix: near === null ? all : `did you mean \`${near}\`?`,
  };
}

function missingField(context: Context, path: Path): Complaint {
  const name = String(path.at(-1));
  const example = exampleAt(context.schema, path);
  return {
    mistake: 'MISSING_FIELD',
    message: `\`${name}\` is missing in ${where(path.slice(0, -1))}`,
    fix: `add it, for example \`${name}: ${example}\``,
  };
}

function wrongKey(context: Context, path: Path): Complaint {
  const parent = schemaAt(context.schema, path.slice(0, -1));
  const record = parent === null ? null : unwrapped(parent);
  const text = String(path.at(-1));
  const complain = record instanceof z.ZodRecord ? hintOf(record.keyType as z.ZodType)?.complain : null;
  return (
    complain?.({ text: text.slice(0, ADVISED_LENGTH), quoted: false }) ?? {
      mistake: 'KEY',
      message: `${quoted(text)} cannot stand at this place`,
      fix: 'delete it',
    }
  );
}

function wrongValue(context: Context, path: Path): Complaint {
  const { source } = context;
  const name = nameOf(path);
  const hintedSchema = schemaAt(context.schema, path);
  const schema = hintedSchema === null ? null : unwrapped(hintedSchema);
  const example = exampleAt(context.schema, path);
  const shape = source.shapeAt(path);
  const field = typeof path.at(-1) === 'string' ? `${String(path.at(-1))}: ` : '';
  const fix = `write for example \`${field}${example}\``;
  if (shape === 'empty') return { mistake: 'EMPTY_FIELD', message: `${name} has no value`, fix };
  if (schema instanceof z.ZodObject || schema instanceof z.ZodRecord) {
    return { mistake: 'WRONG_TYPE', message: `${name} must have fields below it`, fix };
  }
  if (schema instanceof z.ZodArray || (shape === 'list' && takesList(schema))) {
    const message = shape === 'list' ? `${name} has no entry, or too many` : `${name} must be a list`;
    return { mistake: 'WRONG_TYPE', message, fix };
  }
  const whole = source.written(path);
  if (whole === null) return { mistake: 'WRONG_TYPE', message: `${name} must be one value`, fix };
  // Only the beginning of a text gets advice: no typing mistake is longer, and the patterns may take long with a long text.
  const written = { ...whole, text: whole.text.slice(0, ADVISED_LENGTH) };
  const complain = complaintOf(hintedSchema);
  if (complain !== null) return complain(written);
  const choices = choicesOf(schema);
  const near = nearest(written.text, choices);
  return {
    mistake: choices.length === 0 ? 'WRONG_TYPE' : 'NOT_ONE_OF',
    message: `${quoted(written.text)} is not what ${name} takes${choices.length === 0 ? '' : `: ${choices.join(', ')}`}`,
    fix: near === null ? fix : `did you mean \`${near}\`?`,
  };
}

function takesList(schema: z.ZodType | null): boolean {
  return schema instanceof z.ZodUnion && schema.options.some((option) => option instanceof z.ZodArray);
}

/** The complaint about a scalar. In a choice of schemas, the first schema that has a complaint makes it. */
function complaintOf(schema: z.ZodType | null): Hint['complain'] {
  const own = hintOf(schema)?.complain ?? null;
  const inner = schema === null ? null : unwrapped(schema);
  if (own !== null || !(inner instanceof z.ZodUnion)) return own;
  const complaints = inner.options.map((option) => complaintOf(option as z.ZodType));
  return complaints.find((complain) => complain !== null) ?? null;
}

/** No right value of a file is longer. */
const ADVISED_LENGTH = 250;

/** The group that a path names, for messages: `quote`, an entry of `withdraw`, this file. */
function where(path: Path): string {
  return path.length === 0 ? 'this file' : nameOf(path);
}

function nameOf(path: Path): string {
  const last = path.at(-1);
  if (last === undefined) return 'this file';
  return typeof last === 'number' ? `an entry of \`${String(path.at(-2))}\`` : `\`${last}\``;
}

function exampleAt(schema: z.ZodType, path: Path): string {
  const found = schemaAt(schema, path);
  return hintOf(found)?.example ?? choicesOf(found === null ? null : unwrapped(found))[0] ?? '…';
}

function choicesOf(schema: z.ZodType | null): readonly string[] {
  if (schema instanceof z.ZodEnum) return schema.options.map(String);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => choicesOf(option as z.ZodType));
  return schema instanceof z.ZodLiteral ? [...schema.values].map(String) : [];
}

function fieldsOf(schema: z.ZodType | null): readonly string[] {
  const inner = schema === null ? null : unwrapped(schema);
  if (inner instanceof z.ZodObject) return Object.keys(inner.shape);
  return inner instanceof z.ZodUnion ? inner.options.flatMap((option) => fieldsOf(option as z.ZodType)) : [];
}

/** The hint of a schema, or of the schema inside its default and optional wrappers. */
function hintOf(schema: z.ZodType | null): Hint | null {
  if (schema === null) return null;
  const hint = hints.get(schema);
  const inner = unwrappedOnce(schema);
  return hint ?? (inner === schema ? null : hintOf(inner));
}

/** The schema of the value at `path`; null when the path leads nowhere. */
function schemaAt(schema: z.ZodType, path: Path): z.ZodType | null {
  const inner = unwrapped(schema);
  const [step, ...rest] = path;
  if (step === undefined) return schema;
  if (inner instanceof z.ZodUnion) {
    const options = inner.options.map((option) => schemaAt(option as z.ZodType, path));
    return options.find((option) => option !== null) ?? null;
  }
  if (inner instanceof z.ZodArray) return schemaAt(inner.element as z.ZodType, rest);
  if (inner instanceof z.ZodRecord) return schemaAt(inner.valueType as z.ZodType, rest);
  if (!(inner instanceof z.ZodObject)) return null;
  const shape = inner.shape as Readonly<Record<string, z.ZodType>>;
  const field = Object.hasOwn(shape, step) ? shape[step] : undefined;
  return field === undefined ? null : schemaAt(field, rest);
}

/** A schema without its default and optional wrappers. */
function unwrapped(schema: z.ZodType): z.ZodType {
  const inner = unwrappedOnce(schema);
  return inner === schema ? schema : unwrapped(inner);
}

function unwrappedOnce(schema: z.ZodType): z.ZodType {
  const wraps =
    schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault;
  return wraps ? (schema.unwrap() as z.ZodType) : schema;
}
