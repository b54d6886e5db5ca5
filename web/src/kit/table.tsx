import type { ComponentChildren } from 'preact';
import { InLink } from '../format';
import type { Tone } from '../words';

/** A light, a shape and a word. A state of the API knows its own looks, a tone is for the rest. */
export function Badge({ tone, state, plain, children }: {
    tone?: Tone; state?: string; plain?: boolean; children?: ComponentChildren;
}) {
    return <span class={plain ? 'badge plain' : 'badge'} data-tone={tone} data-state={state}>{children}</span>;
}

export interface Column<Row> {
    head: ComponentChildren;
    cell: (row: Row) => ComponentChildren;
    right?: boolean;
    /** Left out on a narrow screen. */
    narrow?: 'hide';
    sorted?: 'ascending' | 'descending';
}

export interface TableProps<Row> {
    columns: readonly Column<Row>[];
    rows: readonly Row[];
    keyOf: (row: Row) => string;
    /** Makes the row a link, from its first cell. */
    href?: (row: Row) => string | undefined;
    dense?: boolean;
    /** Names the table for those who do not see what is above it. */
    caption: string;
}

/** The roles are written out, since a table that folds into cards loses them. */
export function Table<Row>({ columns, rows, keyOf, href, dense, caption }: TableProps<Row>) {
    return <table class={dense ? 'table dense cardlike' : 'table cardlike'} role="table">
        <caption class="sr">{caption}</caption>
        <thead role="rowgroup"><tr role="row">
            {columns.map((column, at) => <th key={at} scope="col" role="columnheader" aria-sort={column.sorted}
                class={classOf(column)}>{column.head}</th>)}
        </tr></thead>
        <tbody role="rowgroup">
            {rows.map((row) => <TableRow key={keyOf(row)} columns={columns} row={row} href={href?.(row)} />)}
        </tbody>
    </table>;
}

function classOf<Row>({ right, narrow }: Column<Row>): string | undefined {
    return [right && 'r', narrow === 'hide' && 'only-wide'].filter(Boolean).join(' ') || undefined;
}

function TableRow<Row>({ columns, row, href }: { columns: readonly Column<Row>[]; row: Row; href?: string }) {
    return <tr role="row" class={href ? 'opens' : undefined}>
        {columns.map((column, at) => {
            const inside = column.cell(row);
            const name = at > 0 && typeof column.head === 'string' ? column.head : undefined;
            return <td key={at} role="cell" class={classOf(column)} data-name={name}>
                {at === 0 && href
                    ? <a class="strong" href={href} data-row-link><InLink.Provider value={true}>{inside}</InLink.Provider></a>
                    : inside}
            </td>;
        })}
    </tr>;
}

type Fact = readonly [label: ComponentChildren, value: ComponentChildren];

/** Names and values; those without a value are left out. */
export function Facts({ items, small }: { items: readonly (Fact | false | null | undefined)[]; small?: boolean }) {
    const shown = items.filter((item): item is Fact => !!item && item[1] !== null && item[1] !== undefined);
    return <dl class={small ? 'kv small' : 'kv'}>
        {shown.map(([label, value], at) => <><dt key={`t${at}`}>{label}</dt><dd key={`d${at}`}>{value}</dd></>)}
    </dl>;
}

type Stat = readonly [label: ComponentChildren, value: ComponentChildren, small?: ComponentChildren];

export function Stats({ items }: { items: readonly (Stat | false | null | undefined)[] }) {
    return <dl class="stats">
        {items.filter((item): item is Stat => !!item).map(([label, value, small], at) =>
            <div key={at}><dt>{label}</dt><dd>{value}{small && <small>{small}</small>}</dd></div>)}
    </dl>;
}
