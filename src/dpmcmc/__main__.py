from dpmcmc.cli import main

main()
