%% A thousand processes that answer, a program of the system, a timer, a file.
-module(processes).
-export([main/1]).

main(_) ->
    Self = self(),
    Count = fun() -> Self ! {self(), lists:sum(lists:seq(1, 20000))} end,
    Workers = [spawn(Count) || _ <- lists:seq(1, 1000)],
    io:format("~p~n", [lists:sum([receive {Worker, Sum} -> Sum end || Worker <- Workers])]),
    io:format("~s", [os:cmd("echo child")]),
    timer:sleep(50),
    ok = file:write_file("/tmp/erlang", <<"file">>),
    {ok, Bytes} = file:read_file("/tmp/erlang"),
    io:format("~s~n", [Bytes]).
