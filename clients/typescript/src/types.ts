// What each operation takes and answers, read off the generated types.
import type { components, operations as Described } from './generated/api.js';
import type { operations } from './generated/operations.js';

export type OperationName = keyof typeof operations & keyof Described;
/** `keyed`: it changes something and takes an Idempotency-Key. */
export interface Operation { readonly method: string; readonly path: string; readonly keyed?: boolean }

/** A newer server may have values that this library does not know: every choice is also a text. */
export type Open<T> = T extends string ? (string extends T ? T : T | (string & {}))
    : T extends readonly (infer Each)[] ? Open<Each>[]
    : T extends object ? { [Name in keyof T]: Open<T[Name]> } : T;

/** A schema of openapi.json by its name, as answers have it. */
export type Schema<Name extends keyof components['schemas']> = Open<components['schemas'][Name]>;

type Json<T> = T extends { content: { 'application/json': infer Body } } ? Body : undefined;
type Wish<T> = T extends { requestBody: { content: unknown } } ? { body: Json<T['requestBody']> }
    : T extends { requestBody?: infer Body } ? { body?: Json<NonNullable<Body>> } : { body?: undefined };
export type Given<Name extends OperationName> =
    Pick<Described[Name]['parameters'], 'path' | 'query'> & Wish<Described[Name]>;

type AnswerOf<T> = T extends { content: { 'application/json': infer Body } } ? Open<Body>
    : T extends { content: unknown } ? unknown : undefined;
type Responses<Name extends OperationName> = Described[Name]['responses'];
export type Answer<Name extends OperationName> = AnswerOf<Responses<Name>[keyof Responses<Name>]>;

interface Page { items: unknown[]; next_cursor: string | null }
export type PagedName = { [Name in OperationName]: Answer<Name> extends Page ? Name : never }[OperationName];
export type Item<Name extends PagedName> = Answer<Name> extends { items: (infer Each)[] } ? Each : never;

export interface CallOptions {
    signal?: AbortSignal | undefined;
    /** For each attempt, until its answer is there. */
    timeoutMs?: number | undefined;
    retries?: number | undefined;
    /** A UUID of one's own, to go on with a change whose outcome is not known. */
    idempotencyKey?: string | undefined;
}
/** They may be left out where every part may be. */
export type Arguments<Wanted> =
    {} extends Wanted ? [given?: Wanted & CallOptions] : [given: Wanted & CallOptions];
type Values = Readonly<Record<string, unknown>> | undefined;
export interface AnyGiven extends CallOptions {
    path?: Values; query?: Values; body?: unknown; headers?: Readonly<Record<string, string>>;
}
