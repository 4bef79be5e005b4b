// Asks with Node's own fetch what standard input lists, and prints the answers: PORT

const port = process.argv[2];
let text = '';
for await (const piece of process.stdin) text += piece;

function bytes(body) {
  if (typeof body !== 'number') return body ?? undefined;
  const made = new Uint8Array(body);
  for (let at = 0; at < body; at += 1) made[at] = at % 256;
  return made;
}

function inPieces(body) {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= body.length) return controller.close();
      controller.enqueue(body.subarray(at, at + 70_000));
      at += 70_000;
    },
  });
}

async function ask(one) {
  const body = bytes(one.body);
  const response = await fetch(`http://127.0.0.1:${port}${one.path}`, {
    method: one.method,
    headers: one.headers,
    body: one.chunked ? inPieces(body) : body,
    duplex: 'half',
    redirect: 'manual',
    signal: AbortSignal.timeout(30_000),
  });
  const got = [];
  let cut = false;
  try {
    for await (const piece of response.body ?? []) got.push(piece);
  } catch {
    cut = true;
  }
  const body_text = Buffer.concat(got).toString('latin1');
  return { status: response.status, headers: [...response.headers], body: body_text, cut };
}

const answers = {};
for (const [name, one] of Object.entries(JSON.parse(text))) answers[name] = await ask(one);
console.log(JSON.stringify(answers));
