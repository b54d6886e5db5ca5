// A preview is asked for when what it is of has rested for a moment.
import { keepPreviousData, useQuery } from '@tanstack/preact-query';
import type { Answer, BerthError, OperationName } from 'berth-client';
import { useEffect, useState } from 'preact/hooks';
import { client } from '../../api';

const calmMs = 250;

export function usePreview<Name extends OperationName>(name: Name, given: object):
    { data: Answer<Name> | undefined; error: BerthError | undefined } {
    const text = JSON.stringify(given);
    const [rested, setRested] = useState(text);
    useEffect(() => {
        const timer = setTimeout(() => setRested(text), calmMs);
        return () => clearTimeout(timer);
    }, [text]);
    const query = useQuery({
        queryKey: [name, rested],
        queryFn: () => (client.call as (name: Name, given: object) => Promise<Answer<Name>>)
            .call(client, name, JSON.parse(rested) as object),
        placeholderData: keepPreviousData,
        gcTime: 0,
    });
    const isCurrent = rested === text && !query.isPlaceholderData;
    return { data: isCurrent ? query.data as Answer<Name> | undefined : undefined,
        error: isCurrent ? (query.error as BerthError | null) ?? undefined : undefined };
}
