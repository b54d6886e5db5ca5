import { useEffect, useState } from 'preact/hooks';

interface Drawn {
    size: number;
    path: string;
}

async function draw(text: string): Promise<Drawn> {
    const { encode } = await import('uqr');
    const { data, size } = encode(text, { border: 2, ecc: 'M' });
    let path = '';
    data.forEach((row, y) => row.forEach((isDark, x) => { if (isDark) path += `M${x} ${y}h1v1h-1z`; }));
    return { size, path };
}

/** Drawn in the page; what it says stands beside it as text as well. */
export function Qr({ text, label }: { text: string; label: string }) {
    const [drawn, setDrawn] = useState<Drawn>();
    useEffect(() => {
        let isWanted = true;
        draw(text).then((made) => { if (isWanted) setDrawn(made); }, () => setDrawn(undefined));
        return () => { isWanted = false; };
    }, [text]);
    const size = drawn?.size ?? 1;
    return <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
        {drawn && <path d={drawn.path} shape-rendering="crispEdges" />}
    </svg>;
}
