// Drives node-beanstalk; bodies go through its JSON serializer, as its users' do.

const { Client } = require("node-beanstalk");
const { play } = require("./transcript.js");

async function open(port) {
  const client = new Client({ host: "127.0.0.1", port, maxPayloadSize: 1_000_000 });
  await client.connect();
  return {
    put: (body, pri, delay, ttr) => client.put(body, ttr, pri, delay).then(({ id }) => id),
    use: (name) => client.use(name),
    reserve: () => client.reserve(),
    "reserve-with-timeout": (seconds) => client.reserveWithTimeout(seconds),
    "reserve-job": (id) => client.reserveJob(id),
    delete: (id) => client.delete(id),
    release: (...given) => client.release(...given),
    bury: (...given) => client.bury(...given),
    touch: (id) => client.touch(id),
    watch: (name) => client.watch(name),
    ignore: (name) => client.ignore(name),
    peek: (id) => client.peek(id),
    "peek-ready": () => client.peekReady(),
    "peek-delayed": () => client.peekDelayed(),
    "peek-buried": () => client.peekBuried(),
    kick: (count) => client.kick(count),
    "kick-job": (id) => client.kickJob(id),
    stats: () => client.stats(),
    "stats-job": (id) => client.statsJob(id),
    "stats-tube": (name) => client.statsTube(name),
    "list-tubes": () => client.listTubes(),
    "list-tube-used": () => client.listTubeUsed(),
    "list-tubes-watched": () => client.listTubesWatched(),
    "pause-tube": (...given) => client.pauseTube(...given),
    close: () => client.disconnect(),
  };
}

play(open);
