// A table of operators: filters in the address, pages, and words where it is empty.
import type { Given, Item, PagedName } from 'berth-client';
import type { ComponentChildren } from 'preact';
import { usePages, type Listed } from '../../api';
import { Empty, Failure, Field, Loading, More, Panel, Select, Table, TextInput, type Column } from '../../kit';
import { useQuery } from '../../router';

export interface Filter {
    name: string;
    label: string;
    /** Without them it is a text. */
    options?: readonly (readonly [value: string, label: string])[];
}

export interface DeskListProps<Name extends PagedName> {
    operation: Name;
    caption: string;
    columns: Column<Item<Name>>[];
    keyOf: (row: Item<Name>) => string;
    href?: (row: Item<Name>) => string;
    filters?: readonly Filter[];
    /** Of the query, beside the filters. */
    fixed?: Record<string, string>;
    empty: string;
    emptyHint?: ComponentChildren;
    every?: number;
    onList?: (list: Listed<Item<Name>>) => void;
}

export function DeskList<Name extends PagedName>(props: DeskListProps<Name>) {
    const { operation, caption, columns, keyOf, href, filters = [], fixed, empty, emptyHint, every = 30 } = props;
    const [query, setQuery] = useQuery();
    const wanted: Record<string, string> = { ...fixed };
    for (const { name } of filters) if (query[name]) wanted[name] = query[name];
    const list = usePages(operation, { query: wanted } as unknown as Partial<Given<Name>>, { every });
    return <>
        {filters.length > 0 && <div class="row filters-row">
            {filters.map((filter) => <FilterField key={filter.name} filter={filter} value={query[filter.name] ?? ''}
                onChange={(value) => setQuery({ [filter.name]: value }, { replace: true })} />)}
        </div>}
        <Panel flush label={caption}>
            {list.error ? <Failure error={list.error} retry={list.refetch} />
                : !list.items ? <Loading rows={6} />
                : list.items.length === 0 ? <Empty title={empty}>{emptyHint}</Empty>
                : <Table caption={caption} columns={columns} rows={list.items} keyOf={keyOf}
                    {...(href ? { href } : {})} dense />}
        </Panel>
        <More list={list} />
    </>;
}

function FilterField({ filter, value, onChange }: {
    filter: Filter; value: string; onChange: (value: string) => void;
}) {
    return <Field label={filter.label}>
        {(ids) => filter.options
            ? <Select {...ids} value={value} onChange={onChange}
                options={[['', 'Any'], ...filter.options.map(([key, word]) => [key, word] as [string, string])]} />
            : <TextInput {...ids} value={value} onInput={onChange} filter mono />}
    </Field>;
}

/** The choices of an enumeration, in the words for each. */
export function choices(values: readonly string[], word: (value: string) => string = humanly): [string, string][] {
    return values.map((value) => [value, word(value)]);
}

export function humanly(value: string): string {
    const text = value.replaceAll(/[_-]/g, ' ').toLowerCase();
    return text.charAt(0).toUpperCase() + text.slice(1);
}
